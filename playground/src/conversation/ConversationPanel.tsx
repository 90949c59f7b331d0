import { useState, type KeyboardEvent } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { Button } from '../ui/Button.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { AgentMenu } from './AgentMenu.tsx';
import { AgentNotices } from './AgentNotices.tsx';
import { activeAgent, useAgents } from './agentStore.ts';
import { Composer } from './Composer.tsx';
import { MessageLog } from './MessageLog.tsx';
import { NewAgentButton } from './NewAgentButton.tsx';
import type { PageAgent } from './pageAgent.ts';
import { useNewAgent } from './useNewAgent.ts';
import './conversation.css';

/** The conversation with the active agent, or with all of them side by side. */
export function ConversationPanel() {
  const { agents, activate, cancel } = useAgents();
  const active = useAgents(activeAgent);
  const [isWide, setIsWide] = useState(false);
  const sideBySide = isWide && agents.length > 1;
  const shown = sideBySide ? agents : active ? [active] : [];
  const onKeyDown = (event: KeyboardEvent): void => {
    // In a menu Escape closes the menu.
    if (event.key !== 'Escape' || (event.target as Element).closest('[popover], dialog')) return;
    for (const { key, running, waiting } of shown) if (running ?? waiting) cancel(key);
  };
  return (
    <section className="conversation" aria-label="Conversation" onKeyDown={onKeyDown}>
      {active ? (
        <Tabs
          className="conversation-tabs"
          label="Agents"
          tabs={agents.map(({ key, title, state, running }) => ({
            id: String(key),
            label: title,
            badge: running
              ? { text: 'runs' }
              : state === 'failed' || state === 'lost'
                ? { text: state, tone: 'error' }
                : undefined,
          }))}
          selected={String(active.key)}
          onSelect={(id) => activate(Number(id))}
          end={
            <>
              {agents.length > 1 && (
                <Button size="small" variant="quiet" aria-pressed={isWide} onClick={() => setIsWide(!isWide)}>
                  Side by side
                </Button>
              )}
              <NewAgentButton />
              {!sideBySide && <AgentMenu agent={active} />}
            </>
          }
        >
          {sideBySide ? <Columns agents={agents} active={active.key} /> : <AgentView agent={active} />}
        </Tabs>
      ) : (
        <NoAgent />
      )}
      <Composer shown={shown.map(({ key }) => key)} />
    </section>
  );
}

function AgentView({ agent, label = 'Messages' }: { readonly agent: PageAgent; readonly label?: string }) {
  return (
    <div className="conversation-agent" key={agent.key}>
      <AgentNotices agent={agent} />
      <MessageLog key={agent.key} agent={agent} label={label} />
    </div>
  );
}

function Columns({ agents, active }: { readonly agents: readonly PageAgent[]; readonly active: number }) {
  const activate = useAgents((store) => store.activate);
  return (
    <div className="conversation-columns">
      {agents.map((agent) => (
        <div
          key={agent.key}
          className="conversation-column"
          data-active={agent.key === active}
          onFocusCapture={() => activate(agent.key)}
          onPointerDown={() => activate(agent.key)}
        >
          <div className="conversation-column-head">
            <strong>{agent.title}</strong>
            {agent.modelName !== '' && <span className="muted">{agent.modelName}</span>}
            <span className="conversation-spring" />
            <AgentMenu agent={agent} />
          </div>
          <AgentView agent={agent} label={`Messages of ${agent.title}`} />
        </div>
      ))}
    </div>
  );
}

function NoAgent() {
  const status = useConnection((store) => store.status);
  const newAgent = useNewAgent();
  return (
    <div className="conversation-none">
      <p className="muted">
        {newAgent
          ? 'An agent is a conversation with the graph. The first message makes one, too.'
          : 'Open a graph, or begin a new one, and talk to it here.'}
      </p>
      <NewAgentButton primary disabled={status.state !== 'connected'} />
    </div>
  );
}
