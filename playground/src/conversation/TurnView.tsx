import { memo } from 'react';
import type { GraphFile } from '../document/graphDocument.ts';
import { Button } from '../ui/Button.tsx';
import { Icon } from '../ui/Icon.tsx';
import { useAgents } from './agentStore.ts';
import { CallCard } from './CallCard.tsx';
import { callWait, waitLimitMs } from './callWait.ts';
import { EventLine } from './EventLine.tsx';
import { PendingCalls } from './PendingCalls.tsx';
import { turnNotes, wholeTextLabel } from './turnNotes.ts';
import type { ChangedParams } from './pageAgent.ts';
import type { TurnPart, TurnRecord } from './turnRecord.ts';
import { TurnFoot } from './TurnFoot.tsx';

/** Properties of a turn in the log. */
export interface TurnViewProps {
  readonly agentKey: number;
  readonly turn: TurnRecord;
  /** The agent's graph, and what was changed in it since. */
  readonly graph: GraphFile | undefined;
  readonly changedParams: ChangedParams;
  /** Whether its details are shown. */
  readonly selected: boolean;
}

/** A turn in the log: the message, and all that came of it, in order. A click selects it. */
export const TurnView = memo(function TurnView(props: TurnViewProps) {
  const { agentKey, turn, selected } = props;
  const selectTurn = useAgents((store) => store.selectTurn);
  const { number, user, variables, parts, endedAt, fault } = turn;
  const running = endedAt === undefined;
  const names = Object.keys(variables);
  return (
    <li
      className="conversation-turn"
      data-selected={selected}
      aria-busy={running}
      onClick={() => selected || selectTurn(agentKey, number)}
    >
      <div className="conversation-user">
        <span className="visually-hidden">You: </span>
        {user}
        {names.length > 0 && (
          <dl className="conversation-variables-sent">
            {names.map((name) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{variables[name]}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
      {parts.map((part, index) => (
        // Parts are only added at the end.
        // oxlint-disable-next-line react/no-array-index-key
        <Part key={index} {...props} part={part} />
      ))}
      <PendingCalls agentKey={agentKey} pending={turn.calls.filter((call) => callWait(turn, call) === 'open')} />
      {turnNotes(turn).map(({ text, tone }) => (
        <p key={text} className="conversation-note" data-tone={tone}>
          {tone === 'warn' && <Icon name="alert" />}
          {text}
        </p>
      ))}
      {fault && (
        <p role="alert" className="conversation-note" data-tone="error">
          <Icon name="alert" />
          <span>
            {fault.message} <code>{fault.name}</code>
          </span>
        </p>
      )}
      <TurnFoot turn={turn}>
        <Button
          size="small"
          variant="quiet"
          icon="timeline"
          aria-pressed={selected}
          aria-label={`Details of turn ${number}`}
          onClick={() => selectTurn(agentKey, number)}
        />
      </TurnFoot>
    </li>
  );
});

function Part({ part, agentKey, turn, graph, changedParams }: TurnViewProps & { readonly part: TurnPart }) {
  if (part.type === 'event') return <EventLine event={part.event} graph={graph} />;
  if (part.type === 'text') {
    const label = part.whole ? wholeTextLabel(graph?.nodes[part.node]) : undefined;
    return (
      <div className="conversation-answer">
        <span className="visually-hidden">Answer: </span>
        {label !== undefined && <span className="conversation-badge">{label}</span>}
        <span className="conversation-text">{part.text}</span>
      </div>
    );
  }
  if (part.type === 'field')
    return (
      <div className="conversation-event">
        <p>
          <span className="conversation-node">{part.node}</span> {part.name}: {part.value}
        </p>
      </div>
    );
  const record = turn.calls.find(({ call }) => call.callId === part.callId);
  if (!record) return null;
  return (
    <CallCard
      agentKey={agentKey}
      record={record}
      wait={callWait(turn, record)}
      waitLimitMs={waitLimitMs(record.call.nodeName, graph, changedParams)}
    />
  );
}
