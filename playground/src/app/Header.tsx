import { useEffect, useRef, useState } from 'react';
import { ConnectionStatus } from '../connection/ConnectionStatus.tsx';
import { useConnection } from '../connection/connectionStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { ModelsDialog } from '../models/ModelsDialog.tsx';
import { useModels } from '../models/modelStore.ts';
import { Button } from '../ui/Button.tsx';
import { Menu } from '../ui/Menu.tsx';
import { ClientCodeDialog } from './ClientCodeDialog.tsx';
import { isEdited, listServerGraphs, openFile, saveDocument } from './documentActions.ts';
import { GraphPicker } from './GraphPicker.tsx';
import { NewGraphDialog } from './NewGraphDialog.tsx';
import { useSettings, type Theme } from './settingsStore.ts';

type OpenDialog = 'new' | 'code' | 'models' | undefined;

const themes: readonly { readonly id: Theme; readonly label: string }[] = [
  { id: 'system', label: 'System' },
  { id: 'dark', label: 'Dark' },
  { id: 'light', label: 'Light' },
];

/** The bar at the top: which graph is open, what can be done with it, the models, the theme and the connection. */
export function Header() {
  const isConnected = useConnection(({ client }) => client !== undefined);
  const refreshModels = useModels((store) => store.refresh);
  const [dialog, setDialog] = useState<OpenDialog>();
  const isEmpty = useDocument(({ text }) => text === '');
  const edited = useDocument(isEdited);
  const { theme, setTheme } = useSettings();
  useEffect(() => {
    if (!isConnected) return;
    void listServerGraphs();
    void refreshModels();
  }, [isConnected, refreshModels]);
  const close = (): void => setDialog(undefined);
  return (
    <header className="app-header">
      <h1>turngraph</h1>
      <GraphPicker />
      <div className="app-actions">
        <Button variant="quiet" icon="newFile" onClick={() => setDialog('new')}>
          <span>New graph</span>
        </Button>
        <OpenFileButton />
        <Button variant={edited ? undefined : 'quiet'} icon="save" disabled={isEmpty} onClick={saveDocument}>
          <span>Save</span>
        </Button>
        <Button variant="quiet" icon="code" disabled={isEmpty} onClick={() => setDialog('code')}>
          <span>Copy client code</span>
        </Button>
        <Button variant="quiet" icon="model" onClick={() => setDialog('models')}>
          <span>Models</span>
        </Button>
        <Menu
          variant="quiet"
          icon="theme"
          items={themes.map((item) => ({ ...item, checked: item.id === theme }))}
          onSelect={(id) => setTheme(id as Theme)}
        >
          <span>Theme</span>
        </Menu>
      </div>
      <ConnectionStatus />
      {dialog === 'new' && <NewGraphDialog onClose={close} />}
      {dialog === 'code' && <ClientCodeDialog onClose={close} />}
      {dialog === 'models' && <ModelsDialog onClose={close} />}
    </header>
  );
}

function OpenFileButton() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button variant="quiet" icon="open" onClick={() => input.current?.click()}>
        <span>Open file</span>
      </Button>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          // The same file can be chosen again.
          if (file) void openFile(file).finally(() => (target.value = ''));
        }}
      />
    </>
  );
}
