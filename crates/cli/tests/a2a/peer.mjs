// Client of A2A's JavaScript SDK: drives a published AgentSpeak agent. Prints one line for each check.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [base, transport, modules] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/package.json`));
const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } = require("@a2a-js/sdk/client");
const sdk = require("@a2a-js/sdk");

const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [transport] });
const client = await new ClientFactory(options).createFromUrl(base);

let count = 0;
function message(text, more = {}) {
  count += 1;
  return {
    tenant: "",
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId: `j${count}`, role: sdk.Role.ROLE_USER, contextId: "", taskId: "", metadata: undefined, extensions: [],
      referenceTaskIds: [], parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
      ...more,
    },
  };
}
const state = (task) => sdk.TaskState[task.status.state].replace("TASK_STATE_", "").toLowerCase();
const texts = (parts) => parts.map((part) => part.content?.value).join(" ");
const taskOf = (result) => result.payload?.value ?? result.task ?? result;

const task = taskOf(await client.sendMessage(message("price of tea")));
console.log("send:", state(task), texts(task.artifacts[0].parts));

const seen = [];
for await (const event of client.sendMessageStream(message("brew"))) {
  const { $case: kind, value } = event.payload ?? event;
  if (kind === "task") seen.push(`task ${state(value)}`);
  else if (kind === "statusUpdate") seen.push(state(value));
  else if (kind === "artifactUpdate") seen.push(`artifact ${texts(value.artifact.parts)}`);
  else seen.push(kind);
}
console.log("stream:", seen.join(", "));

const asked = taskOf(await client.sendMessage(message("paint")));
console.log("asked:", state(asked), texts(asked.status.message.parts));
const done = taskOf(await client.sendMessage(message("red", { taskId: asked.id, contextId: asked.contextId })));
console.log("answered:", state(done), texts(done.artifacts[0].parts));

const again = taskOf(await client.sendMessage(message("paint")));
const cancelled = await client.cancelTask({ tenant: "", id: again.id, metadata: undefined });
console.log("cancelled:", state(taskOf(cancelled)));
