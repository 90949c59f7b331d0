// Says before `npm test` how long it takes and which tests it skips for want of what.
import { isSkipped, missingFor, requirements } from '../test/helpers/requirements.mjs';

// The folders of tests, one by one, take about 670 s of processor time in all, and waits remain between them.
const minutesOnTwoCores = 6;

const skipped = Object.entries(requirements).filter(([name]) => isSkipped(name));
console.log(`The tests take about ${minutesOnTwoCores} minutes on two cores, longer on a busy machine.`);
console.log(skipped.length === 0 ? 'None is skipped on this machine.' : 'Skipped on this machine:');
for (const [name, { title, file, install }] of skipped) {
  console.log(`- ${title} (${file}): no ${missingFor(name).join(' and no ')}${install ? `; ${install}` : ''}`);
}
