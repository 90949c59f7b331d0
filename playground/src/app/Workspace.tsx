import { useEffect, useState, type CSSProperties, type ReactNode } from 'react';
import { useFocus } from '../document/focusStore.ts';
import { Icon, type IconName } from '../ui/Icon.tsx';
import { useSettings } from './settingsStore.ts';
import { Splitter } from './Splitter.tsx';

/** The panels of the page. */
export interface WorkspaceProps {
  readonly canvas: ReactNode;
  readonly inspector: ReactNode;
  readonly conversation: ReactNode;
  readonly turn: ReactNode;
}

const panels: readonly { readonly id: keyof WorkspaceProps; readonly label: string; readonly icon: IconName }[] = [
  { id: 'canvas', label: 'Graph', icon: 'graph' },
  { id: 'inspector', label: 'Edit', icon: 'code' },
  { id: 'conversation', label: 'Talk', icon: 'talk' },
  { id: 'turn', label: 'Turn', icon: 'timeline' },
];

/**
 * The layout of the panels. A wide page shows all, with splitters between them; a narrow one shows one at a time, chosen by
 * a bar at the bottom. All stay mounted, so none loses what was typed.
 */
export function Workspace(contents: WorkspaceProps) {
  const [shown, setShown] = useState<keyof WorkspaceProps>('canvas');
  const sizes = useSettings((store) => store.sizes);
  const request = useFocus((store) => store.request);
  useEffect(() => {
    if (request) setShown('inspector');
  }, [request]);
  const style = {
    '--graph-size': `${sizes.graph}fr`,
    '--talk-size': `${100 - sizes.graph}fr`,
    '--canvas-size': `${sizes.canvas}fr`,
    '--inspector-size': `${100 - sizes.canvas}fr`,
    '--conversation-size': `${sizes.conversation}fr`,
    '--turn-size': `${100 - sizes.conversation}fr`,
  } as CSSProperties;
  const panel = (id: keyof WorkspaceProps) => (
    <div className="app-panel" data-panel={id} data-shown={id === shown}>
      {contents[id]}
    </div>
  );
  return (
    <>
      <main className="app-workspace" style={style}>
        <div className="app-column" data-column="graph">
          {panel('canvas')}
          <Splitter panel="canvas" orientation="horizontal" label="Height of the canvas" min={15} max={90} />
          {panel('inspector')}
        </div>
        <Splitter panel="graph" orientation="vertical" label="Width of the graph" min={30} max={75} />
        <div className="app-column" data-column="talk">
          {panel('conversation')}
          <Splitter panel="conversation" orientation="horizontal" label="Height of the conversation" max={90} />
          {panel('turn')}
        </div>
      </main>
      <nav className="app-panel-bar" aria-label="Panels">
        {panels.map(({ id, label, icon }) => (
          <button key={id} type="button" aria-current={id === shown ? 'page' : undefined} onClick={() => setShown(id)}>
            <Icon name={icon} />
            {label}
          </button>
        ))}
      </nav>
    </>
  );
}
