import { useState } from 'preact/hooks';
import { Field, TextField } from '../../parts/controls.tsx';
import { parsedObject } from '../../parts/json/json.ts';
import {
  apnsTextOf,
  pushTypeOf,
  pushTypes,
  withApnsField,
  withEvent,
  withPushType,
} from './apns-draft.ts';
import { draft } from './draft.ts';

const events = ['update', 'start', 'end'] as const;

/** What only Apple's devices have. */
export function ApnsFields() {
  const type = pushTypeOf(draft.value);
  return (
    <fieldset class="plain pair">
      <legend>On Apple devices</legend>
      <Field label="Push type" hint="All but the first two reach the tokens of their kind only.">
        {(given) => (
          <select
            {...given}
            value={type}
            onChange={({ currentTarget: { value } }) => {
              draft.value = withPushType(draft.value, value);
            }}
          >
            {pushTypes.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
      </Field>
      {type === 'liveactivity' && <ActivityFields />}
      {type !== 'alert' && type !== 'liveactivity' && (
        <ObjectField key={type} label="Further keys" name="payload" isInAps={false} />
      )}
    </fieldset>
  );
}

function ActivityFields() {
  const event = apnsTextOf(draft.value, 'event', true);
  return (
    <>
      <Field label="Event">
        {(given) => (
          <select
            {...given}
            value={event}
            onChange={({ currentTarget: { value } }) => {
              draft.value = withEvent(draft.value, value);
            }}
          >
            {events.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
      </Field>
      <ObjectField label="State" name="content-state" isInAps={true} />
      {event === 'start' && (
        <>
          <TextField
            label="Type of its attributes"
            hint="As the app names it."
            value={apnsTextOf(draft.value, 'attributes-type', true)}
            write={(text) => {
              draft.value = withApnsField(draft.value, 'attributes-type', text, true);
            }}
          />
          <ObjectField label="Attributes" name="attributes" isInAps={true} />
        </>
      )}
    </>
  );
}

/** A field whose value is a JSON object. The draft keeps the last one that could be read. */
function ObjectField({
  label,
  name,
  isInAps,
}: {
  readonly label: string;
  readonly name: string;
  readonly isInAps: boolean;
}) {
  const [typed, setTyped] = useState(apnsTextOf(draft.value, name, isInAps));
  const isRead = typed === '' || parsedObject(typed) !== undefined;
  return (
    <TextField
      label={label}
      hint={isRead ? 'A JSON object.' : 'This is not a JSON object yet.'}
      value={typed}
      write={(text) => {
        setTyped(text);
        const value = text === '' ? '' : parsedObject(text);
        if (value === undefined) return;
        draft.value = withApnsField(draft.value, name, value, isInAps);
      }}
    />
  );
}
