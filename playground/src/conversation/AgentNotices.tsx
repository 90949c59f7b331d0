import { useState } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { ModelsDialog } from '../models/ModelsDialog.tsx';
import { Button } from '../ui/Button.tsx';
import { Icon } from '../ui/Icon.tsx';
import { useAgents } from './agentStore.ts';
import { CompileFaults } from './CompileFaults.tsx';
import { adviceFor, compileFaults, isAboutModels } from './graphFaults.ts';
import type { PageAgent } from './pageAgent.ts';
import { useMendedText } from './useMendedText.ts';
import { useIsPresentBroken } from './useIsPresentBroken.ts';
import { usePresentText } from './usePresentText.ts';

/** What is to be said about an agent itself: it is being made, failed, is gone, or its graph was edited since. */
export function AgentNotices({ agent }: { readonly agent: PageAgent }) {
  switch (agent.state) {
    case 'creating':
      return <Creating agent={agent} />;
    case 'failed':
      return <Failed agent={agent} />;
    case 'lost':
      return <Lost agent={agent} />;
    case 'ready':
      return (
        <>
          <Reconnecting />
          <Edited agent={agent} />
          <Warnings agent={agent} />
        </>
      );
  }
}

function Creating({ agent: { progress, title } }: { readonly agent: PageAgent }) {
  const verb = progress?.phase === 'DOWNLOADING' ? 'Downloading' : 'Loading';
  const text = progress ? `${verb} ${progress.modelName}` : `Making ${title} …`;
  return (
    <div className="conversation-notice" role="status">
      <span>{text}</span>
      {progress && (
        <>
          <progress max={1} value={progress.fraction} aria-label={text} />
          <span className="muted">{Math.floor(progress.fraction * 100)} %</span>
        </>
      )}
    </div>
  );
}

function Failed({ agent }: { readonly agent: PageAgent }) {
  const { key, fault, dialog } = agent;
  const startAgain = useAgents((store) => store.startAgain);
  const present = usePresentText(agent);
  const mended = useMendedText(agent);
  const isConnected = useConnection(({ client }) => client !== undefined);
  const [showsModels, setShowsModels] = useState(false);
  if (!fault) return null;
  const advice = adviceFor(fault.name);
  const faults = compileFaults(fault);
  return (
    <>
      <div className="conversation-notice" data-tone="error">
        <div role="alert">
          <p>
            <Icon name="alert" /> The agent could not be made. {faults.length > 0 ? '' : `${fault.message} `}
            <code>{fault.name}</code>
          </p>
          <CompileFaults faults={faults} />
          {mended !== undefined ? (
            <p>The graph has been edited since and has no errors: the next message makes the agent again.</p>
          ) : (
            advice !== undefined && <p>{advice}</p>
          )}
        </div>
        <div className="conversation-notice-actions">
          {isAboutModels(fault.name) && (
            <Button size="small" icon="model" onClick={() => setShowsModels(true)}>
              Show models
            </Button>
          )}
          <Button
            size="small"
            icon="restart"
            disabled={!isConnected}
            onClick={() => void startAgain(key, present, { keepDialog: dialog !== undefined })}
          >
            Try again
          </Button>
        </div>
      </div>
      {showsModels && <ModelsDialog onClose={() => setShowsModels(false)} />}
    </>
  );
}

function Lost({ agent }: { readonly agent: PageAgent }) {
  const { key, fault, dialog, graphText } = agent;
  const { client, status, open } = useConnection();
  const startAgain = useAgents((store) => store.startAgain);
  const canKeep = dialog !== undefined && dialog !== '[]';
  const again = async (keepDialog: boolean): Promise<void> => {
    if (!client) await open();
    await startAgain(key, graphText, { keepDialog });
  };
  const button = { size: 'small', icon: 'restart', disabled: status.state === 'connecting' } as const;
  return (
    <div className="conversation-notice" data-tone="error">
      <div role="alert">
        <p>
          <Icon name="alert" /> The session is lost, and the agent with it: {fault?.message}.
        </p>
        {canKeep && <p>The page has its dialog up to the last turn that ended.</p>}
      </div>
      <div className="conversation-notice-actions">
        {canKeep && (
          <Button {...button} variant="primary" onClick={() => void again(true)}>
            Start again with the dialog
          </Button>
        )}
        <Button {...button} onClick={() => void again(false)}>
          Start again
        </Button>
      </div>
    </div>
  );
}

function Reconnecting() {
  const status = useConnection((store) => store.status);
  if (status.state !== 'reconnecting') return null;
  return (
    <div className="conversation-notice" data-tone="warn" role="status">
      The connection dropped: attempt {status.attempt} to resume the session. A turn goes on as soon as it is resumed.
    </div>
  );
}

function Edited({ agent }: { readonly agent: PageAgent }) {
  const { key, graphName, graphText } = agent;
  const startAgain = useAgents((store) => store.startAgain);
  const present = usePresentText(agent);
  const isBroken = useIsPresentBroken(agent);
  const openName = useDocument(({ name }) => name);
  if (openName !== graphName) return <div className="conversation-notice muted">not of the graph on the canvas</div>;
  if (present === graphText) return null;
  return (
    <div className="conversation-notice" data-tone="warn">
      <span>made from an earlier version{isBroken && '; the present one has errors'}</span>
      <div className="conversation-notice-actions">
        <Button
          size="small"
          icon="restart"
          disabled={isBroken}
          onClick={() => void startAgain(key, present, { keepDialog: false })}
        >
          Start again
        </Button>
        <Button size="small" disabled={isBroken} onClick={() => void startAgain(key, present, { keepDialog: true })}>
          Keep the dialog
        </Button>
      </div>
    </div>
  );
}

function Warnings({ agent: { warnings } }: { readonly agent: PageAgent }) {
  if (warnings.length === 0) return null;
  return (
    <details className="conversation-notice" data-tone="warn">
      <summary>{warnings.length === 1 ? 'One warning' : `${warnings.length} warnings`} about the graph</summary>
      <ul>
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </details>
  );
}
