// Says before the tests how long they take and which are skipped for want of what.
import { isSkipped, missingFor, requirements } from '../test/helpers/requirements.mjs';

const fastSecondsOnTwoCores = 90;
const minutesOnTwoCores = 10;

const skipped = Object.entries(requirements).filter(([name]) => isSkipped(name));
console.log(
  `npm test takes about ${fastSecondsOnTwoCores} seconds on two cores, npm run test:all about ${minutesOnTwoCores} minutes; longer on a busy machine.`,
);
console.log(skipped.length === 0 ? 'None is skipped on this machine.' : 'Skipped on this machine:');
for (const [name, { title, file, install }] of skipped) {
  console.log(`- ${title} (${file}): no ${missingFor(name).join(' and no ')}${install ? `; ${install}` : ''}`);
}
