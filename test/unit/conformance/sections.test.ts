import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { protocolSections } from '../../../src/conformance/sections.ts';
import { repositoryPath } from '../../helpers/server.ts';

it('each section that a failed check can name is a heading of PROTOCOL.md', () => {
  const text = readFileSync(repositoryPath('proto/PROTOCOL.md'), 'utf8');
  const headings = new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading));
  expect(protocolSections.filter((section) => !headings.has(section))).toEqual([]);
});
