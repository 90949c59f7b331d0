import { useState } from 'react';
import { hasToken, socketUrl } from '../connection/connectionStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { CopyButton } from '../ui/CopyButton.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { clientCode, type ClientLanguage } from './clientCode.ts';
import { fileNameOf, useDocumentActions } from './documentActions.ts';
import { useSettings } from './settingsStore.ts';

const languages: readonly { readonly id: ClientLanguage; readonly label: string }[] = [
  { id: 'javascript', label: 'JavaScript' },
  { id: 'python', label: 'Python' },
];

/** Shows a program that talks to the open graph, to be copied. */
export function ClientCodeDialog({ onClose }: { readonly onClose: () => void }) {
  const [language, setLanguage] = useState<ClientLanguage>('javascript');
  const { name, text, graph } = useDocument();
  const fromServer = useDocumentActions((store) => store.fromServer);
  const defaultModelName = useSettings((store) => store.defaultModelName);
  const isOnServer = fromServer?.name === name && fromServer.text === text;
  const code = clientCode(language, {
    url: socketUrl().replace(/\/$/, ''),
    graphName: name || 'graph',
    isOnServer,
    defaultModelName: graph?.default_model_name ? '' : defaultModelName,
    needsToken: hasToken(),
  });
  return (
    <Dialog title="Client code" size="wide" onClose={onClose} foot={<CopyButton variant="primary" text={code} />}>
      <p className="muted">
        {isOnServer
          ? 'The server has this graph: the program names it.'
          : `The program reads ${fileNameOf(name)}: save it beside the program first.`}
      </p>
      <Tabs
        label="Language"
        tabs={languages}
        selected={language}
        onSelect={(id) => setLanguage(id as ClientLanguage)}
        className="app-code-tabs"
      >
        <pre className="app-code">
          <code>{code}</code>
        </pre>
      </Tabs>
    </Dialog>
  );
}
