import { useState } from 'react';
import { hasToken, socketUrl } from '../connection/connectionStore.ts';
import { activeAgent, useAgents } from '../conversation/agentStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { toolsOf } from '../document/graphDocument.ts';
import { CopyButton } from '../ui/CopyButton.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { Tabs } from '../ui/Tabs.tsx';
import { agentModelName } from './agentModelName.ts';
import { clientLanguages } from './clientCode.ts';
import { fileNameOf, useDocumentActions } from './documentActions.ts';

/** Shows a program that talks to the open graph, to be copied. */
export function ClientCodeDialog({ onClose }: { readonly onClose: () => void }) {
  const [id, setId] = useState('javascript');
  const { name, text, graph } = useDocument();
  const fromServer = useDocumentActions((store) => store.fromServer);
  const isOnServer = fromServer?.name === name && fromServer.text === text;
  const message = useAgents((store) => activeAgent(store)?.turns.at(-1)?.user) ?? 'Hello!';
  const language = clientLanguages.find((each) => each.id === id);
  if (!language) return undefined;
  const tools = toolsOf(graph);
  const named = tools.filter(({ isNamed }) => isNamed).map((tool) => tool.name);
  const code = language.write({
    url: socketUrl().replace(/\/$/, ''),
    graphName: name || 'graph',
    isOnServer,
    defaultModelName: agentModelName(graph),
    needsToken: hasToken(),
    message,
    tools,
  });
  return (
    <Dialog title="Client code" size="wide" onClose={onClose} foot={<CopyButton variant="primary" text={code} />}>
      <p className="muted">
        {isOnServer
          ? 'The server has this graph: the program names it.'
          : `The program reads ${fileNameOf(name)}: save it beside the program first.`}
        {named.length > 0 &&
          ` The graph only names ${named.join(', ')}: say in the program what the model reads of them.`}
      </p>
      <Tabs label="Language" tabs={clientLanguages} selected={id} onSelect={setId} className="app-code-tabs">
        <pre className="app-code">
          <code>{code}</code>
        </pre>
      </Tabs>
      <p className="muted">
        It needs {language.needs}. The guide is <code>{language.guide}</code> of the package.
      </p>
    </Dialog>
  );
}
