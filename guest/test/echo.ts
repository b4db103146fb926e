// Prints what a message says, and sends it back as it understood it: for guest.test.mjs.

import { Agent, Kind, Message, Value, print, run } from "whimbrel";

function text(tag: string, text: string): string {
  return tag + String.UTF8.byteLength(text).toString() + ":" + text;
}

function many(values: Array<Value>): string {
  let out = "";
  for (let i = 0; i < values.length; i++) out += spell(values[i]) + ";";
  return out;
}

function spell(value: Value): string {
  switch (value.kind) {
    case Kind.NULL: return "n";
    case Kind.FALSE: return "F";
    case Kind.TRUE: return "T";
    case Kind.INT: return "i" + value.int.toString();
    case Kind.DOUBLE: return "d" + reinterpret<u64>(value.double).toString(16).padStart(16, "0");
    case Kind.TEXT: return text("t", value.text);
    case Kind.ATOM: return text("a", value.text);
    case Kind.VARIABLE: return text("v", value.text);
    case Kind.BYTES: {
      let out = "b";
      for (let i = 0; i < value.bytes.length; i++) out += (<u32>value.bytes[i]).toString(16).padStart(2, "0");
      return out;
    }
    case Kind.LIST: return "[" + many(value.items) + "]";
    case Kind.MAP: return "{" + many(value.items) + "}";
    case Kind.RECORD: {
      let out = text("r", value.text) + "(";
      for (let i = 0; i < value.items.length; i++) out += text("", value.names[i]) + spell(value.items[i]) + ";";
      return out + ")";
    }
    default: {
      const namespace = value.namespace;
      return (value.negated ? "~" : "") + (namespace !== null ? text("m", namespace) : "") + text("f", value.text) +
        "(" + many(value.items) + ")" + (value.annotations.length > 0 ? "[" + many(value.annotations) + "]" : "");
    }
  }
}

class Echo extends Agent {
  onMessage(message: Message): void {
    print(spell(message.content));
    message.send();
  }
}

run(new Echo());
