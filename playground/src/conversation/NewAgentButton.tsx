import { useState } from 'react';
import { notifyFault } from '../app/noticeStore.ts';
import { ModelSelect } from '../models/ModelSelect.tsx';
import { Button } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { useNewAgent } from './useNewAgent.ts';

/** Properties of the button. */
export interface NewAgentButtonProps {
  readonly primary?: boolean;
  readonly disabled?: boolean;
}

/** Makes an agent of the graph as it is now; the button behind it asks for a model and a dialog before. */
export function NewAgentButton({ primary = false, disabled = false }: NewAgentButtonProps) {
  const newAgent = useNewAgent();
  const [asks, setAsks] = useState(false);
  const isDisabled = disabled || !newAgent;
  return (
    <span className="conversation-new">
      <Button
        size="small"
        icon="add"
        variant={primary ? 'primary' : 'quiet'}
        disabled={isDisabled}
        onClick={() => void newAgent?.()}
      >
        New agent
      </Button>
      <Button
        size="small"
        icon="chevronDown"
        variant={primary ? 'primary' : 'quiet'}
        disabled={isDisabled}
        aria-haspopup="dialog"
        aria-label="New agent with options"
        onClick={() => setAsks(true)}
      />
      {asks && <NewAgentDialog onClose={() => setAsks(false)} />}
    </span>
  );
}

function NewAgentDialog({ onClose }: { readonly onClose: () => void }) {
  const newAgent = useNewAgent();
  const [modelName, setModelName] = useState('');
  const [file, setFile] = useState<File>();
  const make = async (): Promise<void> => {
    try {
      const history = await file?.text();
      onClose();
      await newAgent?.({ ...(modelName !== '' && { modelName }), ...(history !== undefined && { history }) });
    } catch (thrown) {
      notifyFault(thrown);
    }
  };
  return (
    <Dialog
      title="New agent"
      onClose={onClose}
      foot={
        <Button variant="primary" onClick={() => void make()}>
          Make the agent
        </Button>
      }
    >
      <label className="conversation-option">
        Model
        <ModelSelect value={modelName} onChange={setModelName} emptyLabel="the graph's" />
        <small className="muted">Takes the place of the graph's default; nodes that name a model keep theirs.</small>
      </label>
      <label className="conversation-option">
        Dialog
        <input type="file" accept=".json,application/json" onChange={({ target }) => setFile(target.files?.[0])} />
        <small className="muted">A file of an exported dialog, which the agent goes on with.</small>
      </label>
    </Dialog>
  );
}
