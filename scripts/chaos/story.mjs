// A graph that makes one long answer: those of the demo model are short, so it has several nodes.
const places = ['the sea', 'a tower', 'the woods', 'an old mill', 'the moon', 'a market', 'the snow', 'a garden'];

/**
 * A graph of `Generate` nodes; each number has other prompts. An endless one goes back to its first node.
 * @type {(number: number, chapters: number, isEndless?: boolean) => object}
 */
export const storyGraph = (number, chapters, isEndless = false) => ({
  start_node: 'chapter0',
  nodes: Object.fromEntries(
    Array.from({ length: chapters }, (_, index) => [
      `chapter${index}`,
      {
        type: 'Generate',
        params: {
          system_prompt: `You tell stories of ${places[(number + index) % places.length]}. This is number ${number + index}.`,
          sampling: { temperature: 0, max_tokens: 60 },
        },
        ...((isEndless || index + 1 < chapters) && { exits: { default: `chapter${(index + 1) % chapters}` } }),
      },
    ]),
  ),
});
