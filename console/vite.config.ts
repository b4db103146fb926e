import { defineConfig, type Plugin } from "vite";

/** Where `npm run dev` finds a node: `WHIMBREL_NODE=127.0.0.1:8420 npm run dev`. */
const node = process.env["WHIMBREL_NODE"] ?? "127.0.0.1:8420";

/** What uPlot can and the console does not ask of it: without these lines nobody refers to it, and it is left out. */
const UNUSED = ["uPlot.join = join;", "uPlot.rangeLog = rangeLog;", "(paths.stepped = stepped);", "(paths.bars    = bars);", "(paths.spline  = monotoneCubic);"];

const lessOfUPlot: Plugin = {
  name: "less-of-uplot",
  transform(code, id) {
    if (!/uPlot\.esm\.js/.test(id)) return undefined;
    return UNUSED.reduce((rest, line) => {
      if (!rest.includes(line)) this.error(`uPlot has no ${line}`);
      return rest.replace(line, "");
    }, code);
  },
};

export default defineConfig({
  plugins: [lessOfUPlot],
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
