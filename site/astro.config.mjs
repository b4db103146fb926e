// The site: static pages, which any server of files can serve, under any path (SITE_BASE).
import starlight from "@astrojs/starlight";
import { defineConfig, passthroughImageService } from "astro/config";

const base = (process.env.SITE_BASE ?? "/").replace(/\/?$/, "/");
const guide = (...names) => names.map((name) => `guide/${name}`);

export default defineConfig({
  base,
  trailingSlash: "always",
  outDir: "dist",
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: "Whimbrel",
      description: "A platform for societies of agents",
      favicon: "/favicon.svg",
      customCss: ["./src/styles/site.css"],
      head: [{ tag: "script", attrs: { type: "module", src: `${base}agent-speak.js` } }],
      credits: false,
      sidebar: [
        { label: "Begin", items: ["guide/first-society", "guide/tutorial", "guide/contract-net", { label: "Playground", link: "playground/" }, "guide/command-line", "examples"] },
        { label: "Coming from", items: guide("from-jason", "from-jade", "from-spade", "from-langgraph") },
        { label: "Watch", items: guide("console", "watching", "minds", "repl", "editors") },
        { label: "Languages", items: guide("rust-agents", "python", "python-environments", "language-models", "wasm-agents", "typescript", "browser", "external-agents") },
        { label: "What agents can do", items: guide("protocols", "topics-and-groups", "mobility", "documents", "devices") },
        { label: "Other platforms", items: guide("talk-to-jade", "talk-to-spade", "a2a", "mcp") },
        { label: "Many machines", items: guide("many-machines", "security", "durability", "cluster", "chaos") },
        { label: "When it fails", items: ["guide/troubleshooting"] },
        { label: "Examples", collapsed: true, items: [{ autogenerate: { directory: "examples" } }] },
        { label: "Reference", collapsed: true, items: [{ autogenerate: { directory: "reference" } }, { label: "API in Rust", link: "api/rust/whimbrel/" }, { label: "API of WebAssembly agents in Rust", link: "api/rust/whimbrel_guest/" }, { label: "API in TypeScript", link: "api/typescript/" }, "bench", "changelog"] },
        { label: "Design", collapsed: true, items: [{ autogenerate: { directory: "design" } }] },
      ],
    }),
  ],
});
