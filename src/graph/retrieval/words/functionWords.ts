export const setOf = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/).filter((word) => word !== ''));

/**
 * English function words, which say nothing of what a text is about: articles, pronouns, question words, prepositions,
 * conjunctions, auxiliary verbs, general adverbs and quantifiers. Many of them, such as "what", are rare in texts but not
 * in questions, so that counting cannot tell them.
 */
export const functionWords: ReadonlySet<string> = setOf(
  `a an the this that these those such
  i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
  we us our ours ourselves they them their theirs themselves one ones
  somebody someone something anybody anyone anything everybody everyone everything nobody nothing none
  who whom whose which what when where why how whatever whichever whoever whenever wherever however
  about above across after against along among around as at before behind below beneath beside besides between beyond
  by down during except for from in inside into near of off on onto out outside over past per since through throughout
  till to toward towards under until up upon via with within without
  and or but nor so yet if unless because although though while whereas whether than
  am is are was were be been being do does did doing done have has had having can could may might must shall should get gets got
  will would ought cannot not no yes let lets s t d m ll re ve
  here there now then again also too just only even still already always never ever often sometimes once
  very quite rather really almost maybe perhaps else instead anyway
  all any both each either neither every few less least more most many much other others another own same several some
  enough lot lots`,
);

/** Words that are not searched: function words, and those with which one asks. */
export const unsearchedWords: ReadonlySet<string> = new Set([
  ...functionWords,
  ...setOf('tell know please say ask explain describe hello hi hey okay ok thanks thank'),
]);
