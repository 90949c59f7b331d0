import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as kit from '../../../conformance/index.ts';
import { protocolSections } from '../../../conformance/sections.ts';
import type { ConformanceKit } from '../../../src/cli/commands/conformance.ts';
import { repositoryPath } from '../../helpers/server.ts';

it('each section that a failed check can name is a heading of PROTOCOL.md', () => {
  const text = readFileSync(repositoryPath('proto/PROTOCOL.md'), 'utf8');
  const headings = new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading));
  expect(protocolSections.filter((section) => !headings.has(section))).toEqual([]);
});

it('the kit has what turngraph conformance needs', () => {
  // TypeScript compares the kit with the interface that the command declares.
  const { checkClient, checkServer } = kit satisfies ConformanceKit;
  expect([checkClient, checkServer]).toEqual([expect.any(Function), expect.any(Function)]);
});
