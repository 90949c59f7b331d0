// What is wrong with the text that people wrote, each fault with its place: nothing is left out of training in silence.
import { parseRequest } from './requests.mjs';

const types = ['string', 'integer', 'number', 'boolean', 'array'];
const made = ['person', 'fullname', 'email', 'phone', 'code'];

/** The faults of a catalogue (see catalogue.mjs), as sentences. */
export function faultsOf({ actions, values }) {
  const pools = new Set([...Object.keys(values), ...made]);
  return actions.flatMap((action) => {
    const at = `${action.topic}.json, ${action.action}`;
    const parameters = Object.entries(action.parameters);
    return [
      ...(action.names.length < 2 ? [`${at}: it needs two names or more that no held-out tool has`] : []),
      ...(action.descriptions.length < 3 ? [`${at}: it needs three descriptions or more`] : []),
      ...parameters.flatMap(([key, parameter]) =>
        parameterFaults(parameter, pools).map((fault) => `${at}, ${key}: ${fault}`),
      ),
      ...action.requests.flatMap((request) =>
        requestFaults(request, action.parameters).map((fault) => `${at}, "${request}": ${fault}`),
      ),
    ];
  });
}

function parameterFaults({ names, type, values, enum: members, said }, pools) {
  const faults = [];
  if (!(names?.length > 0)) faults.push('it has no names');
  if (!types.includes(type)) faults.push(`its type is none of ${types.join(', ')}`);
  if (typeof values === 'string' && !pools.has(values)) faults.push(`no pool of values.json is called ${values}`);
  const ranged = type === 'integer' || type === 'number';
  if (ranged && !members && values?.to === undefined) faults.push('its values need { "from", "to" }');
  if ((type === 'string' || type === 'array') && !members && !values) faults.push('it needs values or an enum');
  const strangers = members && said ? Object.keys(said).filter((value) => !members.includes(value)) : [];
  for (const value of strangers) faults.push(`${value} is said, but not in the enum`);
  return faults;
}

function requestFaults(request, parameters) {
  if (/\[[^\]]*\[/.test(request)) return ['an optional stretch stands in another one'];
  const parts = parseRequest(request);
  const all = parts.flatMap((part) => part.option ?? [part]).filter(({ key }) => key);
  const always = new Set(parts.map(({ key }) => key));
  return [
    ...all.flatMap((part) => slotFaults(part, parameters[part.key])),
    ...Object.entries(parameters)
      .filter(([key, { optional }]) => !optional && !always.has(key))
      .map(([key]) => `it leaves {${key}} open, which is not optional`),
  ];
}

function slotFaults({ key, fixed }, parameter) {
  if (!parameter) return [`there is no parameter {${key}}`];
  const { type, said, enum: members } = parameter;
  if (fixed === undefined) {
    const mute = type === 'boolean' && !(said?.true?.length > 0 && said?.false?.length > 0);
    return mute ? [`nothing tells how {${key}} is said; give it a value, {${key}=true}`] : [];
  }
  const fits =
    type === 'boolean'
      ? fixed === 'true' || fixed === 'false'
      : members
        ? members.map(String).includes(fixed)
        : (type !== 'integer' && type !== 'number') || Number.isFinite(Number(fixed));
  return fits ? [] : [`{${key}=${fixed}} is no value of {${key}}`];
}
