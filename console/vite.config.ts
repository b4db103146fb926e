import { defineConfig } from "vite";

/** Where `npm run dev` finds a node: `WHIMBREL_NODE=127.0.0.1:8420 npm run dev`. */
const node = process.env["WHIMBREL_NODE"] ?? "127.0.0.1:8420";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    // The policy of the page allows nothing inline, data: addresses included.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/api": { target: `http://${node}`, ws: true },
      "/session": { target: `http://${node}`, ws: true },
    },
  },
});
