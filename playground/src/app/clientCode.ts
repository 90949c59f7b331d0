import type { GraphTool } from '../document/graphDocument.ts';
import { cSharp, gdScript, javascript, page, python } from './clientPrograms.ts';

/** What the code of a client is written for. */
export interface ClientCodeOptions {
  /** The address of the server's WebSocket, without a slash at its end. */
  readonly url: string;
  readonly graphName: string;
  /** Whether the server has this graph by its name, as it is on the page. Otherwise the code reads its file. */
  readonly isOnServer: boolean;
  /** The model of a graph that names none. */
  readonly defaultModelName: string;
  readonly needsToken: boolean;
  /** The message that the program sends. */
  readonly message: string;
  /** The tools of the graph: the program has a function for each. */
  readonly tools: readonly GraphTool[];
}

/** A language that the documentation has a client for. */
export interface ClientLanguage {
  readonly id: string;
  readonly label: string;
  /** What a program needs besides the file of the graph. */
  readonly needs: string;
  /** Where the package describes the client. */
  readonly guide: string;
  /** Writes a whole program that talks to the graph. */
  readonly write: (options: ClientCodeOptions) => string;
}

/** The languages of the tabs. */
export const clientLanguages: readonly ClientLanguage[] = [
  {
    id: 'javascript',
    label: 'JavaScript',
    needs: 'Node 20 or later and the package turngraph; the program is a module (.mjs)',
    guide: 'docs/client.md',
    write: javascript,
  },
  {
    id: 'page',
    label: 'Page',
    needs:
      'turngraph.js beside the page, a web server whose origin --allow-origin names, and a token in the address of the page (?token=) if the server has one',
    guide: 'examples/browser',
    write: page,
  },
  {
    id: 'python',
    label: 'Python',
    needs: 'Python 3.10 or later, the library websockets, and turngraph.py beside the program',
    guide: 'examples/python',
    write: python,
  },
  {
    id: 'gdscript',
    label: 'GDScript',
    needs: 'Godot 3, and turngraph.gd in the project',
    guide: 'examples/godot3',
    write: gdScript,
  },
  {
    id: 'csharp',
    label: 'C#',
    needs: 'C# 7.2 or later, and Turngraph.cs; in Unity, RunAsync becomes Start of a component',
    guide: 'examples/unity',
    write: cSharp,
  },
];
