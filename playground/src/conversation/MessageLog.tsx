import { useMemo } from 'react';
import { parseGraph } from '../document/graphDocument.ts';
import { Button } from '../ui/Button.tsx';
import { shownTurn, type PageAgent } from './pageAgent.ts';
import { TurnView } from './TurnView.tsx';
import { useStickToEnd } from './useStickToEnd.ts';

/** Properties of the log. */
export interface MessageLogProps {
  readonly agent: PageAgent;
  readonly label: string;
}

/** All turns of an agent. */
export function MessageLog({ agent, label }: MessageLogProps) {
  const { key, graphText, turns, carriedTurns, changedParams, waiting } = agent;
  const graph = useMemo(() => parseGraph(graphText).graph, [graphText]);
  const { scroller, content, atEnd, goToEnd } = useStickToEnd(turns.at(-1)?.startedAt);
  const shown = shownTurn(agent);
  return (
    <div className="conversation-log-frame">
      <div className="conversation-log" ref={scroller} role="log" aria-label={label} tabIndex={0}>
        {turns.length === 0 && agent.state === 'ready' && <EmptyLog dialog={agent.dialog} />}
        <ol ref={content}>
          {turns.flatMap((turn, index) => [
            index > 0 && index === carriedTurns && (
              <li key={`again ${turn.number}`} className="conversation-divider">
                started again, with the dialog
              </li>
            ),
            <TurnView
              key={turn.number}
              agentKey={key}
              turn={turn}
              graph={graph}
              changedParams={changedParams}
              selected={turn === shown}
            />,
          ])}
          {carriedTurns > 0 && carriedTurns === turns.length && (
            <li className="conversation-divider">started again, with the dialog</li>
          )}
          {waiting !== undefined && (
            <li className="conversation-turn">
              <div className="conversation-user">{waiting}</div>
              <p className="conversation-note">It is sent when the agent is made.</p>
            </li>
          )}
        </ol>
      </div>
      {!atEnd && (
        <Button className="conversation-to-end" size="small" icon="chevronDown" onClick={goToEnd}>
          To the end
        </Button>
      )}
    </div>
  );
}

function EmptyLog({ dialog }: { readonly dialog: string | undefined }) {
  return (
    <p className="conversation-empty muted">
      {dialog === undefined || dialog === '[]'
        ? 'The agent is ready. What you write goes through the graph from its start node.'
        : 'The agent is ready and goes on with the dialog of the file.'}
    </p>
  );
}
