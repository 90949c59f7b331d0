import { Button } from '../ui/Button.tsx';
import { Menu } from '../ui/Menu.tsx';
import { useDocument } from '../document/documentStore.ts';
import { nodePointer } from '../document/faultPlace.ts';
import { useFocus } from '../document/focusStore.ts';
import { uniqueName } from '../document/graphEdits.ts';
import { initialNode } from '../document/initialValue.ts';
import { useTypes } from '../document/typesStore.ts';

/** Adding, copying and removing nodes, undo, and the layout. */
export function CanvasToolbar({ arrange }: { readonly arrange: () => void }) {
  const types = useTypes((store) => store.types.types);
  const { graph, isEditable, selected, undoable, redoable } = useDocument();
  const { addNode, duplicateNode, removeNode, undo, redo } = useDocument.getState();
  const { reveal } = useFocus.getState();
  const names = Object.keys(graph?.nodes ?? {});
  const current = selected !== undefined && names.includes(selected) ? selected : undefined;
  const add = (name: string): void => {
    const type = types.get(name);
    if (!type) return;
    const node = uniqueName(type.type.toLowerCase(), names);
    addNode(node, initialNode(type));
    reveal(nodePointer(node), 'node');
  };
  return (
    <div className="canvas-toolbar" role="toolbar" aria-label="Graph">
      <Menu
        icon="add"
        size="small"
        disabled={!isEditable || types.size === 0}
        items={[...types.values()].map(({ type, summary }) => ({ id: type, label: type, description: summary }))}
        onSelect={add}
      >
        Add node
      </Menu>
      <Button
        variant="quiet"
        size="small"
        icon="copy"
        aria-label="Duplicate node"
        disabled={!isEditable || !current}
        onClick={() => current && duplicateNode(current, uniqueName(current, names))}
      />
      <Button
        variant="quiet"
        size="small"
        icon="remove"
        aria-label="Delete node"
        disabled={!isEditable || !current}
        onClick={() => current && removeNode(current)}
      />
      <span className="canvas-toolbar-gap" />
      <Button
        variant="quiet"
        size="small"
        icon="undo"
        aria-label="Undo"
        disabled={undoable.length === 0}
        onClick={undo}
      />
      <Button
        variant="quiet"
        size="small"
        icon="redo"
        aria-label="Redo"
        disabled={redoable.length === 0}
        onClick={redo}
      />
      <span className="canvas-toolbar-gap" />
      <Button variant="quiet" size="small" icon="graph" disabled={names.length === 0} onClick={arrange}>
        Arrange
      </Button>
    </div>
  );
}
