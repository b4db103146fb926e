import { defineConfig, type Plugin } from "vite";

/** Address of the node for `npm run dev`: `WHIMBREL_NODE=127.0.0.1:8420 npm run dev`. */
const node = process.env["WHIMBREL_NODE"] ?? "127.0.0.1:8420";

/** Unused parts of uPlot. Without these lines the bundler drops them. */
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
    // The page's policy forbids inline content, including data: addresses.
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
