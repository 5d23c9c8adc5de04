import { Field, TextField } from '../../parts/controls.tsx';
import { draft, webOf, withWeb } from './draft.ts';

const urgencies = ['very-low', 'low', 'high'] as const;

/** What only browsers have. */
export function WebFields() {
  const write = (name: string, value: string | number | boolean) => {
    draft.value = withWeb(draft.value, name, value);
  };
  return (
    <fieldset class="plain pair">
      <legend>In browsers</legend>
      <Field label="Urgency" hint="A device that saves energy may wait with less urgent ones.">
        {(given) => (
          <select
            {...given}
            value={webOf(draft.value, 'urgency')}
            onChange={({ currentTarget: { value } }) => write('urgency', value)}
          >
            <option value="">normal</option>
            {urgencies.map((urgency) => (
              <option key={urgency}>{urgency}</option>
            ))}
          </select>
        )}
      </Field>
      <TextField
        label="Topic"
        hint="It replaces a message with the same topic that still waits."
        value={webOf(draft.value, 'topic')}
        write={(text) => write('topic', text)}
      />
      <TextField
        label="Number on the icon"
        hint="0 removes it. Of installed web apps."
        value={webOf(draft.value, 'app_badge')}
        write={(text) => write('app_badge', /^\d+$/.test(text) ? Number(text) : text)}
      />
      <Field label="Safari shows it itself" hint="Also if the service worker is gone.">
        {(given) => (
          <select
            {...given}
            value={webOf(draft.value, 'declarative')}
            onChange={({ currentTarget: { value } }) => {
              write('declarative', value === '' ? '' : value === 'true');
            }}
          >
            <option value="">as the instance is set</option>
            <option value="true">yes</option>
            <option value="false">no</option>
          </select>
        )}
      </Field>
    </fieldset>
  );
}
