import type { Message, ToolBlock } from '../../../src/dialog.ts';

export const chatTemplate: string;
export const formatNames: readonly string[];
export function blockFor(declarations: readonly object[], formatName: string): ToolBlock;
export function promptText(messages: readonly Message[], tools?: ToolBlock): string;
export function callText(formatName: string, calls: readonly { name: string; arguments: object }[]): string;
