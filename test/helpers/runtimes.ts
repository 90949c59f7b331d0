import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** What the tests of one client in another language need besides Node. */
export interface Runtime {
  /** Of what, for titles and lists. */
  readonly name: string;
  /** The executable; `undefined`: the tests are skipped. */
  readonly command: string | undefined;
  /** How to get it, for the list of skipped tests. */
  readonly hint: string;
}

/** The output of a command, or '' if there is none. */
function outputOf(command: string, ...args: readonly string[]): string {
  const { stdout } = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return stdout ?? '';
}

/** Where Debian's package libnewtonsoft-json5.0-cil has the library that Unity has as com.unity.nuget.newtonsoft-json. */
export const newtonsoftPath = '/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll';

const hasMono =
  outputOf('mcs', '--version') !== '' && outputOf('mono', '--version') !== '' && existsSync(newtonsoftPath);

/** Runs C#. The compiler is `mcs`. */
export const mono: Runtime = {
  name: 'Mono',
  command: hasMono ? 'mono' : undefined,
  hint: 'apt-get install mono-mcs libmono-system4.0-cil libnewtonsoft-json5.0-cil',
};

/** Runs GDScript of Godot 3 without a window. Godot 4 has another WebSocket and another GDScript. */
export const godot3: Runtime = {
  name: 'Godot 3',
  command: ['godot3-server', 'godot-server'].find((command) => outputOf(command, '--version').startsWith('3.')),
  hint: 'apt-get install godot3-server',
};

/** Runs pages without a window. */
export const chromium: Runtime = {
  name: 'Chromium',
  command: ['chromium', 'chromium-browser', 'google-chrome'].find((command) => outputOf(command, '--version') !== ''),
  hint: 'apt-get install chromium',
};

/** The title of a `describe` that needs a runtime: it says why its tests are skipped. */
export const titleWith = (title: string, { name, command, hint }: Runtime): string =>
  command === undefined ? `${title} (skipped: ${name} is missing; ${hint})` : title;
