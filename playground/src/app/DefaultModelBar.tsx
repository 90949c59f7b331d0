import { useDocument } from '../document/documentStore.ts';
import { useTypes } from '../document/typesStore.ts';
import { ModelSelect } from '../models/ModelSelect.tsx';
import { useModels } from '../models/modelStore.ts';
import { preferredModel } from '../models/preferredModel.ts';
import { Button } from '../ui/Button.tsx';
import { needsDefaultModel } from './needsDefaultModel.ts';
import { useSettings } from './settingsStore.ts';

/** The choice of the model of new agents, above the conversation. It is there only for a graph that leaves it to the client. */
export function DefaultModelBar() {
  const graph = useDocument((store) => store.graph);
  const edit = useDocument((store) => store.edit);
  const types = useTypes((store) => store.types);
  const models = useModels((store) => store.models);
  const { defaultModelName, setDefaultModelName } = useSettings();
  if (!needsDefaultModel(graph, types)) return undefined;
  const value = defaultModelName || (preferredModel(models)?.name ?? '');
  return (
    <div className="app-default-model">
      <label title="The graph names no model: new agents of this page use this one">
        <span>Default model</span>
        <ModelSelect value={value} onChange={setDefaultModelName} emptyLabel="choose one" />
      </label>
      <Button
        size="small"
        variant="quiet"
        disabled={value === ''}
        title="Sets default_model_name of the graph"
        onClick={() => edit(['default_model_name'], value)}
      >
        Write into graph
      </Button>
    </div>
  );
}
