import { create } from 'zustand';
import { connect, Fault, type Client, type ConnectionChange } from '../../../src/client/index.ts';
import { readTab, writeTab } from './tabStorage.ts';

/** The connection of the page to its server. */
export type ConnectionStatus =
  | { readonly state: 'connecting' }
  | { readonly state: 'connected' }
  /** The server wants a token, or refuses the one that was given. */
  | { readonly state: 'unauthorized'; readonly reason: string }
  /** The socket dropped: the client resumes its session by itself. */
  | { readonly state: 'reconnecting'; readonly attempt: number; readonly reason: string }
  /** There is no session any more; `open` begins a new one. */
  | { readonly state: 'closed'; readonly reason: string };

/** State and actions of the connection. */
export interface ConnectionStore {
  readonly status: ConnectionStatus;
  /** The session of all agents of the page; undefined until it is connected, and when the session was lost. */
  readonly client: Client | undefined;
  /** How often the session was resumed on a new socket. */
  readonly resumes: number;
  /** Connects with a token, or with the one that was given before. */
  open(token?: string): Promise<void>;
}

const tokenKey = 'turngraph.token';

/** The token that was given in this tab; undefined: none. It is not kept when the tab is closed. */
const storedToken = (): string | undefined => readTab(tokenKey);

/** Whether a token was given. */
export const hasToken = (): boolean => storedToken() !== undefined;

/** The address of the server's WebSocket: that of the page. */
export const socketUrl = (): string => `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/`;

/** Requests a path of the server that may need the token. */
export const fetchWithToken = (path: string): Promise<Response> => {
  const token = storedToken();
  if (!token) return fetch(path);
  // A header has no other characters; a WebSocket of a page has its token in the query, too.
  if (!/^[\u0021-\u007e]*$/.test(token)) return fetch(`${path}?${new URLSearchParams({ token }).toString()}`);
  return fetch(path, { headers: { authorization: `Bearer ${token}` } });
};

export const useConnection = create<ConnectionStore>()((set, get) => ({
  status: { state: 'connecting' },
  client: undefined,
  resumes: 0,
  async open(token) {
    if (token !== undefined) writeTab(tokenKey, token);
    set({ status: { state: 'connecting' } });
    try {
      // A browser does not say why a WebSocket was refused, a plain request does.
      const answer = await fetchWithToken('/graphs');
      if (answer.status === 401 || answer.status === 403)
        return set({ status: { state: 'unauthorized', reason: await reasonOf(answer) } });
      const client = await connect(socketUrl(), { codec: 'json', ...tokenOption(), onConnectionChange: onChange });
      set({ client, status: { state: 'connected' } });
      const onClosed = (reason: string): void =>
        get().client === client ? set({ client: undefined, status: { state: 'closed', reason } }) : undefined;
      void client.closed.then(({ reason }) => onClosed(reason));
    } catch (thrown) {
      set({ status: { state: 'closed', reason: thrown instanceof Fault ? thrown.message : String(thrown) } });
    }
  },
}));

/** The token as an option of `connect`. */
export const tokenOption = (): { token?: string } => {
  const token = storedToken();
  return token ? { token } : {};
};

function onChange(change: ConnectionChange): void {
  const { getState, setState } = useConnection;
  if (change.state === 'reconnecting')
    setState({ status: { state: 'reconnecting', attempt: change.attempt, reason: change.reason } });
  else if (change.state === 'resumed') setState({ status: { state: 'connected' }, resumes: getState().resumes + 1 });
}

async function reasonOf(answer: Response): Promise<string> {
  const body = (await answer.json().catch(() => ({}))) as { readonly error?: string };
  return body.error ?? `the server answered ${answer.status}`;
}
