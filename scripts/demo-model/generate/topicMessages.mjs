// Messages about a topic (topics.json): those that have one of its words.

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}']+/gu) ?? [];

/**
 * Creates `about(topic)`, a random message about a topic (undefined if there is none), and `topicsOf(text)`, the topics that a text
 * touches. `requests` are pairs of an action and a request template, `ask(action, request)` makes a message of one, and `remarks`
 * are texts with placeholders that `fill` fills.
 */
export function topicMessagesFrom({ topics, requests, remarks, ask, fill, rng }) {
  const byWord = new Map();
  for (const topic of topics) for (const word of topic.words) byWord.set(word, [...(byWord.get(word) ?? []), topic]);
  const topicsOf = (text) => new Set(wordsOf(text).flatMap((word) => byWord.get(word) ?? []));

  const found = new Map(topics.map((topic) => [topic, { requests: [], remarks: [] }]));
  const bare = (text) => text.replaceAll(/\{[^}]*\}/g, ' ');
  for (const pair of requests) for (const topic of topicsOf(bare(pair.request))) found.get(topic).requests.push(pair);
  for (const remark of remarks) for (const topic of topicsOf(bare(remark))) found.get(topic).remarks.push(remark);

  function about(topic) {
    const known = found.get(topic);
    const isRequest = known.remarks.length === 0 || (known.requests.length > 0 && rng.chance(0.65));
    if (!isRequest) return fill(rng.pick(known.remarks));
    if (known.requests.length === 0) return undefined;
    const { action, request } = rng.pick(known.requests);
    const text = ask(action, request);
    // An optional part may have had the word.
    return text !== undefined && topicsOf(text).has(topic) ? text : undefined;
  }

  return { about, topicsOf };
}
