// Rules for the texts that users read: README, guides and help texts. Each exception has its reason.

/** Words without meaning for a reader, each with the remedy. */
const HOUSE_WORDS = [
  { pattern: "/\\b(whoever|whomever|somebody|someone|everybody|anybody)\\b/i", message: "Name the party." },
  { pattern: "/\\b(burden|lodgers?|hearsay|namesakes?|luggage|errands?|christen\\w*)\\b/i", message: "Use the glossary's word." },
  { pattern: "/\\bgo(es)? on\\b|\\bgoing on\\b/i", message: "Use “continue”." },
  { pattern: "/\\b(hears?|heard) of\\b/i", message: "Use “is told” or “learns”." },
];

module.exports = {
  filters: {
    allowlist: {
      allow: [
        // Limits and open numbers are facts here, not weasel words: "only the owner", "several nodes".
        "/\\b(only|several|many|few|mostly)\\b/i",
        // A pronoun in a passive sentence: the passive suits protocols, whose actor is always the same.
        "/\\bit\\s+(is|was)\\b/i",
        // A conclusion from the sentence before.
        "/(^|\\s)So\\b/",
        // Technical terms: an upper limit, the command `advise`, a trait that a type implements, a DF entry's field.
        "/\\b(maximum|advise|implement|type of)\\b/i",
        // "However long": at any length. Not the conjunction.
        "/\\bhowever (long|often|it|many|the society)\\b/i",
        // FIPA's term (FIPA00023), and the opposite of "compile time".
        "life cycle",
        "/\\b(at )?run time\\b/",
        // Names of files and encodings are written as they are typed.
        "README",
        "/\\b(xml|json)\\b/",
        // Keys of a TOML file in an example, and values of an option.
        "/^\\[society\\][^]*$/m",
        "/\\[default: [^\\]]*\\]/",
        // Sums and shares.
        "/\\W(in total|percentage of|relative to)\\W/i",
        // "repeatedly": without a fixed number. "satisfy a check": the term of tests. "distinguished": told apart.
        "/\\W(repeatedly|satisfy|distinguished)\\W/",
        // "in between": between two events that the sentence names.
        "/\\bin\\s+between\\b/",
        // The import `depart` of WebAssembly agents, and calls of it.
        "/\\bdepart\\b/",
        // The subject of the sentence is a thing that exists: "There is one thread."
        "/\\W?there is\\b/i",
      ],
    },
  },
  rules: {
    "write-good": { passive: false },
    terminology: true,
    "stop-words": true,
    "common-misspellings": true,
    // About 25 words. A line that ends without a full stop, as in a list of options, ends a sentence, too.
    "sentence-length": { max: 160 },
    "@textlint-rule/pattern": { patterns: HOUSE_WORDS },
  },
};
