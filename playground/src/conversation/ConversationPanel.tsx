import { useState } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { activeAgent, useAgents } from './agentStore.ts';

/** The conversation with the active agent. */
export function ConversationPanel() {
  const { name, text } = useDocument();
  const { create, send, cancel } = useAgents();
  const agent = useAgents(activeAgent);
  const [message, setMessage] = useState('');
  if (!agent)
    return (
      <section className="conversation" aria-label="Conversation">
        <button type="button" disabled={text === ''} onClick={() => void create(name, text)}>
          Talk to {name || 'a graph'}
        </button>
      </section>
    );
  return (
    <section className="conversation" aria-label="Conversation">
      {agent.fault !== undefined && <p role="alert">{agent.fault}</p>}
      <ol aria-live="polite">
        {agent.turns.map((turn) => (
          <li key={turn.number}>
            <p className="user">{turn.user}</p>
            {turn.calls.map(({ call }) => (
              <pre key={call.callId}>
                {call.toolName} {JSON.stringify(call.arguments)}
              </pre>
            ))}
            <p className="answer">{turn.text}</p>
            {turn.fault && <p role="alert">{turn.fault.message}</p>}
          </li>
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send(agent.key, message);
          setMessage('');
        }}
      >
        <label>
          Message
          <input value={message} onChange={(event) => setMessage(event.target.value)} />
        </label>
        {agent.running ? (
          <button type="button" onClick={() => cancel(agent.key)}>
            Cancel
          </button>
        ) : (
          <button type="submit" disabled={agent.state !== 'ready' || message === ''}>
            Send
          </button>
        )}
      </form>
    </section>
  );
}
