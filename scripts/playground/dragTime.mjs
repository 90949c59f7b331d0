// npm run build && node scripts/playground/dragTime.mjs [NODES]: how long the playground's main thread works for each move of the
// mouse while a node is dragged: handlers, React, styles and layout, as Chromium counts them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGraph, openPlayground } from './openPlayground.mjs';

const nodeCount = Number(process.argv[2] ?? 200);
const moves = 60;

/** A chain of guards, each with its own refusal. */
function largeGraph() {
  const nodes = {};
  const guards = nodeCount / 2;
  for (let number = 0; number < guards; number++) {
    const next = number + 1 < guards ? { not_triggered: `guard${number + 1}` } : {};
    nodes[`guard${number}`] = {
      type: 'Guardrail',
      params: { inline_strings: [`word${number}`] },
      exits: { triggered: `refuse${number}`, ...next },
    };
    nodes[`refuse${number}`] = { type: 'CannedResponse', params: { inline_strings: ['No.'] } };
  }
  return { start_node: 'guard0', nodes };
}

const graphs = await mkdtemp(join(tmpdir(), 'turngraph-'));
await writeFile(join(graphs, 'large.json'), JSON.stringify(largeGraph()));
const playground = await openPlayground({ graphs });
try {
  const page = await playground.open({ viewport: { width: 1280, height: 800 } });
  await openGraph(page, 'large');
  await page
    .locator('[data-node]')
    .nth(nodeCount - 1)
    .waitFor();
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('Performance.enable');
  // The time of all tasks but those of the measurement itself.
  const taskTime = async () => {
    const { metrics } = await devTools.send('Performance.getMetrics');
    const { TaskDuration, DevToolsCommandDuration } = Object.fromEntries(
      metrics.map(({ name, value }) => [name, value]),
    );
    return 1000 * (TaskDuration - DevToolsCommandDuration);
  };
  const nextFrame = () =>
    page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const node = page.locator(`[data-node=guard${nodeCount / 4}]`);
  const box = await node.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const times = [];
  for (let move = 1; move <= moves; move++) {
    const before = await taskTime();
    await page.mouse.move(x + 2 * move, y + move);
    await nextFrame();
    times.push((await taskTime()) - before);
  }
  await page.mouse.up();
  const after = await node.boundingBox();
  if (Math.abs(after.x - box.x) < moves) throw new Error('the node was not dragged');
  times.sort((one, other) => one - other);
  const at = (part) => times[Math.floor(part * (times.length - 1))].toFixed(1);
  console.log(`${nodeCount} nodes, ${moves} moves: median ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(1)} ms`);
} finally {
  await playground[Symbol.asyncDispose]();
  await rm(graphs, { recursive: true });
}
