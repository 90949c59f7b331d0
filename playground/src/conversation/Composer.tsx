import { useId, useRef, useState, type KeyboardEvent } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { Button } from '../ui/Button.tsx';
import { activeAgent, useAgents } from './agentStore.ts';
import { useDraft, variablesOf } from './draftStore.ts';
import type { PageAgent } from './pageAgent.ts';
import { useNewAgent } from './useNewAgent.ts';
import { MessageOptionFields } from './MessageOptionFields.tsx';
import { useMendedText } from './useMendedText.ts';

/** Where the message is written. Enter sends it, Shift+Enter begins a line, the arrow up brings back the last one. */
export function Composer({ shown }: { /** The keys of the agents in view. */ readonly shown: readonly number[] }) {
  const id = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  const { text, setText, priority, variables, recall, markSent } = useDraft();
  const [showsVariables, setShowsVariables] = useState(false);
  const agent = useAgents(activeAgent);
  const { agents, send, cancel, startAgain } = useAgents();
  const mended = useMendedText(agent);
  const isConnected = useConnection(({ client }) => client !== undefined);
  const newAgent = useNewAgent();
  const ready = agents.filter(takesMessage);
  const inView = agents.filter(({ key }) => shown.includes(key));
  const running = inView.filter((each) => each.running !== undefined || each.waiting !== undefined);
  const isEmpty = text.trim() === '';
  const canSend =
    !isEmpty &&
    (agent ? takesMessage(agent) || (isConnected && mended !== undefined) : isConnected && newAgent !== undefined);
  const names = Object.keys(variablesOf(variables));

  const sendTo = (keys: readonly number[]): void => {
    markSent();
    const options = { variables: variablesOf(variables), priority };
    const isLost = (sent: readonly boolean[]): boolean => !sent.includes(true) && useDraft.getState().text === '';
    void Promise.all(keys.map((key) => send(key, text, options))).then((sent) => isLost(sent) && setText(text));
    box.current?.focus();
  };
  const sendOne = (): void => {
    if (!canSend) return;
    // The first message makes the agent that it goes to.
    if (!agent) void newAgent?.();
    else if (mended !== undefined) void startAgain(agent.key, mended, { keepDialog: agent.dialog !== undefined });
    const { active } = useAgents.getState();
    if (active !== undefined) sendTo([active]);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    const { key, shiftKey, currentTarget, nativeEvent } = event;
    if (nativeEvent.isComposing) return;
    const { value, selectionStart, selectionEnd } = currentTarget;
    const isAt = (end: number): boolean => selectionStart === end && selectionEnd === end;
    const atTop = !value.slice(0, selectionStart).includes('\n') && (isAt(0) || isAt(value.length));
    if (key === 'Enter' && !shiftKey) sendOne();
    else if (key === 'ArrowUp' && atTop && recall(-1)) moveToEnd(box.current);
    else if (key === 'ArrowDown' && isAt(value.length) && recall(1)) moveToEnd(box.current);
    else return;
    event.preventDefault();
  };
  return (
    <form
      className="conversation-composer"
      onSubmit={(event) => {
        event.preventDefault();
        sendOne();
      }}
    >
      {showsVariables && <MessageOptionFields />}
      <label htmlFor={`${id}message`} className="visually-hidden">
        Message
      </label>
      <textarea
        id={`${id}message`}
        ref={box}
        rows={2}
        value={text}
        placeholder={newAgent || agent ? 'Write a message' : 'Open a graph to talk to it'}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="conversation-composer-row">
        <Button size="small" aria-expanded={showsVariables} onClick={() => setShowsVariables(!showsVariables)}>
          Variables{names.length > 0 && ` (${names.length})`}
          {priority !== 'NORMAL' && ` · ${priority.toLowerCase()}`}
        </Button>
        <span className="conversation-spring" />
        {running.length > 0 && (
          <Button size="small" icon="cancel" onClick={() => running.forEach(({ key }) => cancel(key))}>
            Cancel
          </Button>
        )}
        {agents.length > 1 && (
          <Button
            size="small"
            disabled={isEmpty || ready.length === 0}
            title={`${ready.length} of ${agents.length} agents can take a message now`}
            onClick={() => sendTo(ready.map(({ key }) => key))}
          >
            Send to all
          </Button>
        )}
        <Button type="submit" size="small" variant="primary" icon="send" disabled={!canSend}>
          Send
        </Button>
      </div>
    </form>
  );
}

/** An agent that is being made gets its message as soon as it is ready. */
const takesMessage = ({ state, running, waiting }: PageAgent): boolean =>
  (state === 'ready' || state === 'creating') && running === undefined && waiting === undefined;

/** After the text that is brought back is in the box. */
const moveToEnd = (box: HTMLTextAreaElement | null): number =>
  requestAnimationFrame(() => box?.setSelectionRange(box.value.length, box.value.length));
