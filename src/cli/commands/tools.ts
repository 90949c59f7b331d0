import { Command } from 'commander';
import { toolsFormatsCommand } from './toolsFormats.ts';
import { toolsParseCommand } from './toolsParse.ts';
import { toolsRenderCommand } from './toolsRender.ts';

export const toolsCommand = (): Command =>
  new Command('tools')
    .description('debug tool calling: render prompts, detect calls')
    .addCommand(toolsParseCommand())
    .addCommand(toolsFormatsCommand())
    .addCommand(toolsRenderCommand());
