import { useState } from 'react';
import { Tabs } from '../ui/Tabs.tsx';
import { activeAgent, useAgents } from './agentStore.ts';
import { shownTurn } from './pageAgent.ts';
import { ParametersTab } from './ParametersTab.tsx';
import { PromptTab } from './PromptTab.tsx';
import { TimelineTab } from './TimelineTab.tsx';
import './turn.css';

const tabs = [
  { id: 'timeline', label: 'Timeline' },
  { id: 'prompt', label: 'Prompt' },
  { id: 'parameters', label: 'Parameters' },
] as const;

/** The details of a turn: where its time went, what the model saw, and what can be changed for the next one. */
export function TurnPanel() {
  const agent = useAgents(activeAgent);
  const [selected, setSelected] = useState('timeline');
  const turn = agent && shownTurn(agent);
  return (
    <section className="turn" aria-label="Turn">
      <Tabs
        label="Turn details"
        tabs={tabs}
        selected={selected}
        onSelect={setSelected}
        end={turn && <span className="turn-which muted">{`${agent.title} · turn ${turn.number}`}</span>}
      >
        {selected === 'parameters' ? (
          <ParametersTab key={agent?.key} agent={agent} />
        ) : !turn ? (
          <p className="turn-empty muted">Send a message: its turn is shown here.</p>
        ) : selected === 'prompt' ? (
          <PromptTab key={`${agent.key} ${turn.number}`} turn={turn} />
        ) : (
          <TimelineTab turn={turn} />
        )}
      </Tabs>
    </section>
  );
}
