// Drives the shop's agent with the official TypeScript SDK. Prints what it saw, a line each.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

async function drive(url, name, options) {
  const client = new Client({ name: "peer", version: "1.0.0" }, { capabilities: { elicitation: {} }, ...options });
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { answer: "red" } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  console.log(name, "tools", tools.map((tool) => tool.name).sort().join(" "));
  const price = await client.callTool({ name: "shop.price", arguments: { item: "tea", count: 2 } });
  console.log(name, "price", JSON.stringify(price.structuredContent));
  const cup = await client.callTool({ name: "shop.order", arguments: { item: "tea" } });
  console.log(name, "order", cup.content[0].text);
  const progress = [];
  const tea = await client.callTool({ name: "shop.brew", arguments: {} }, { onprogress: (it) => progress.push(it.message) });
  console.log(name, "brew", tea.content[0].text, progress.join(", "));
  await client.close();
}

await drive(process.argv[2], "auto", { versionNegotiation: { mode: "auto" } });
await drive(process.argv[2], "legacy", {});
