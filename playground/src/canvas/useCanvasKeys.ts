import { useReactFlow, type Edge } from '@xyflow/react';
import type { KeyboardEvent } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { nodePointer } from '../document/faultPlace.ts';
import { useFocus } from '../document/focusStore.ts';
import { uniqueName } from '../document/graphEdits.ts';
import type { FlowNode } from './flowElements.ts';
import { neighbour } from './layout.ts';
import { exitOfEdge } from './turnPath.ts';

/**
 * The keys of the canvas: arrows move between nodes, Enter and F2 edit the node, Space selects it, Delete removes it or the
 * selected edge, Ctrl+D copies it, Escape selects nothing.
 */
export function useCanvasKeys(nodes: readonly FlowNode[], edges: readonly Edge[]): (event: KeyboardEvent) => void {
  const { setCenter, getZoom } = useReactFlow();
  const focusNode = (name: string): void => {
    const node = nodes.find(({ data }) => data.view.name === name);
    if (!node) return;
    useDocument.getState().select(name);
    document.querySelector<HTMLElement>(`[data-node="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
    const { x, y } = node.position;
    void setCenter(x + (node.width ?? 0) / 2, y + (node.height ?? 0) / 2, { zoom: getZoom() });
  };
  return (event) => {
    const focused = (event.target as HTMLElement).closest<HTMLElement>('[data-node]')?.dataset['node'];
    const store = useDocument.getState();
    const names = Object.keys(store.graph?.nodes ?? {});
    const selected = focused ?? names.find((name) => name === store.selected);
    if ((event.target as HTMLElement).closest('button, input, [popover]')) return;
    const act = (action: () => void): void => {
      event.preventDefault();
      action();
    };
    switch (event.key) {
      case 'ArrowLeft':
      case 'ArrowRight':
      case 'ArrowUp':
      case 'ArrowDown': {
        const positions = new Map(nodes.map(({ data, position }) => [data.view.name, position]));
        const next = selected === undefined ? store.graph?.start_node : neighbour(positions, selected, event.key);
        return act(() => next !== undefined && focusNode(next));
      }
      case 'Enter':
      case 'F2':
        return selected === undefined
          ? undefined
          : act(() => useFocus.getState().reveal(nodePointer(selected), 'node'));
      case ' ':
        return focused === undefined ? undefined : act(() => store.select(focused));
      case 'Escape':
        return store.select(undefined);
      case 'Delete':
      case 'Backspace': {
        if (!store.isEditable) return undefined;
        const edge = edges.find((candidate) => candidate.selected);
        if (edge) {
          const { node, exit } = exitOfEdge(edge.id);
          return act(() => store.connectExit(node, exit, undefined));
        }
        return selected === undefined ? undefined : act(() => store.removeNode(selected));
      }
      case 'd':
        return (event.ctrlKey || event.metaKey) && store.isEditable && selected !== undefined
          ? act(() => store.duplicateNode(selected, uniqueName(selected, names)))
          : undefined;
      default:
        return undefined;
    }
  };
}
