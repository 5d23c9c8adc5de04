import { Field } from '../../parts/controls.tsx';
import { draft, liveOf, withLive } from './draft.ts';

const texts = [
  ['event', 'Event in the app', 'Users who are connected get it. Empty: notifications only.'],
  ['data', 'Data of the event', undefined],
  ['channel', 'Channel', 'Empty: the own channel of each user.'],
  ['waitSeconds', 'Seconds to answer', 'Empty: 4. Who does not answer in time is notified.'],
] as const;

/** The event that users get in the app. */
export function LiveFields() {
  const body = draft.value;
  const write = (name: string, value: string | number) => {
    draft.value = withLive(draft.value, name, value);
  };
  return (
    <fieldset class="plain pair" aria-label="In the app">
      {texts.map(([name, label, hint]) => (
        <Field key={name} label={label} hint={hint}>
          {(given) => (
            <input
              {...given}
              autocomplete="off"
              inputmode={name === 'waitSeconds' ? 'numeric' : 'text'}
              value={liveOf(body, name)}
              onInput={({ currentTarget: { value } }) => write(name, numberOr(name, value))}
            />
          )}
        </Field>
      ))}
      <Field label="Who is notified">
        {(given) => (
          <select
            {...given}
            value={liveOf(body, 'push') || 'absent'}
            onChange={({ currentTarget: { value } }) =>
              write('push', value === 'absent' ? '' : value)
            }
          >
            <option value="absent">Users who did not get it in the app</option>
            <option value="always">Everybody</option>
          </select>
        )}
      </Field>
    </fieldset>
  );
}

/** What is no number stays a text, which the server then refuses by name. */
function numberOr(name: (typeof texts)[number][0], value: string): string | number {
  const number = Number(value);
  return name !== 'waitSeconds' || value.trim() === '' || Number.isNaN(number) ? value : number;
}
