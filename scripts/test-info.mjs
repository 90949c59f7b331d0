// Says before `npm test` how long it takes and which tests it skips for want of what.
import { isSkipped, missingFor, requirements } from '../test/helpers/requirements.mjs';

// Measured on two cores that had nothing else to do: 193 to 222 s, and the test of docs/launching.md's bundle since then.
const minutesOnTwoCores = 8;

const skipped = Object.entries(requirements).filter(([name]) => isSkipped(name));
console.log(`The tests take about ${minutesOnTwoCores} minutes on two cores, longer on a busy machine.`);
console.log(skipped.length === 0 ? 'None is skipped on this machine.' : 'Skipped on this machine:');
for (const [name, { title, file, install }] of skipped) {
  console.log(`- ${title} (${file}): no ${missingFor(name).join(' and no ')}${install ? `; ${install}` : ''}`);
}
