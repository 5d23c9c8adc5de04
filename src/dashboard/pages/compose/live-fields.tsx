import { Field, TextField } from '../../parts/controls.tsx';
import { draft, liveOf, withLive } from './draft.ts';

const fields = [
  ['event', 'Event in the app', 'Empty: notifications only.'],
  ['data', 'Data of the event', ''],
  ['channel', 'Channel', 'Empty: the own channel of each user.'],
  ['waitSeconds', 'Seconds to answer', 'Empty: 4.'],
] as const;

/** The event that users get in the app. */
export function LiveFields() {
  const write = (name: string, value: string | number) => {
    draft.value = withLive(draft.value, name, value);
  };
  return (
    <fieldset class="plain pair">
      <legend>In the app</legend>
      {fields.map(([name, label, hint]) => (
        <TextField
          key={name}
          label={label}
          hint={hint}
          value={liveOf(draft.value, name)}
          write={(text) => write(name, name === 'waitSeconds' ? Number(text) || text : text)}
        />
      ))}
      <Field label="Who is notified">
        {(given) => (
          <select
            {...given}
            value={liveOf(draft.value, 'push')}
            onChange={({ currentTarget: { value } }) => write('push', value)}
          >
            <option value="">Users without it</option>
            <option value="always">Everybody</option>
          </select>
        )}
      </Field>
    </fieldset>
  );
}
