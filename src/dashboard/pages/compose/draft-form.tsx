import { useState } from 'preact/hooks';
import { Field, TextField } from '../../parts/controls.tsx';
import { type Platform, platforms } from '../publishes/words.ts';
import { ApnsFields } from './apns-fields.tsx';
import {
  draft,
  namesOf,
  type TextName,
  textOf,
  withNames,
  withPlatform,
  withText,
} from './draft.ts';
import { LanguageFields } from './language-fields.tsx';
import { LiveFields } from './live-fields.tsx';
import { WebFields } from './web-fields.tsx';

const words: Readonly<Record<Platform, string>> = {
  apns: 'iPhone',
  fcm: 'Android',
  web: 'Browser',
};

const texts: readonly {
  readonly name: TextName;
  readonly label: string;
  readonly hint?: string;
}[] = [
  { name: 'title', label: 'Title' },
  { name: 'body', label: 'Text' },
  { name: 'link', label: 'Link', hint: 'What a click opens. Browsers only.' },
  { name: 'image', label: 'Image', hint: 'An https address. Not on iPhones.' },
];

/** The fields that most publishes need. Other fields of the draft stay unchanged. */
export function DraftForm() {
  const body = draft.value;
  return (
    <>
      <Target />
      <fieldset class="kinds" aria-label="Platforms">
        {platforms.map((platform) => (
          <label key={platform} class="check">
            <input
              type="checkbox"
              checked={body[platform] !== undefined}
              onChange={({ currentTarget: { checked } }) => {
                draft.value = withPlatform(draft.value, platform, checked);
              }}
            />
            {words[platform]}
          </label>
        ))}
      </fieldset>
      <div class="pair">
        {texts.map(({ name, label, hint }) => (
          <TextField
            key={name}
            label={label}
            hint={hint}
            value={textOf(body, name)}
            write={(text) => {
              draft.value = withText(draft.value, name, text);
            }}
          />
        ))}
        <SendAt />
        <SendAtLocal />
        <PerSecond />
      </div>
      <Urgent />
      <LanguageFields />
      {body['apns'] !== undefined && <ApnsFields />}
      {body['web'] !== undefined && <WebFields />}
    </>
  );
}

/** Who gets it. */
function Target() {
  const { kind, text } = namesOf(draft.value);
  // What is typed may end in a comma, which the draft does not have.
  const [typed, setTyped] = useState(text);
  const name = (chosen: typeof kind, names: string) => {
    setTyped(names);
    draft.value = withNames(draft.value, chosen, names);
  };
  return (
    <>
      <div class="pair">
        <Field label="To">
          {(given) => (
            <select
              {...given}
              value={kind}
              onChange={({ currentTarget: { value } }) => {
                name(value === 'users' ? 'users' : 'interests', typed);
              }}
            >
              <option value="interests">Interests</option>
              <option value="users">Users</option>
            </select>
          )}
        </Field>
        <TextField
          label="Names"
          hint="Several with commas between them"
          value={typed}
          write={(names) => name(kind, names)}
        />
      </div>
      {kind === 'users' && <LiveFields />}
    </>
  );
}

function SendAt() {
  const { sendAt } = draft.value;
  return (
    <Field label="When" hint="Empty: at once. Up to 30 days ahead.">
      {(given) => (
        <input
          {...given}
          type="datetime-local"
          value={typeof sendAt === 'string' ? localTime(sendAt) : ''}
          onInput={({ currentTarget: { value } }) => {
            const { sendAt: _, ...others } = draft.value;
            draft.value =
              value === '' ? others : { ...others, sendAt: new Date(value).toISOString() };
          }}
        />
      )}
    </Field>
  );
}

/** The other way to say when: by the clock of each device. */
function SendAtLocal() {
  const { sendAtLocal } = draft.value;
  return (
    <Field label="Local time" hint="By the clock of each device, without a time in When.">
      {(given) => (
        <input
          {...given}
          type="datetime-local"
          value={typeof sendAtLocal === 'string' ? sendAtLocal : ''}
          onInput={({ currentTarget: { value } }) => {
            const { sendAtLocal: _, ...others } = draft.value;
            draft.value = value === '' ? others : { ...others, sendAtLocal: value };
          }}
        />
      )}
    </Field>
  );
}

/** How fast it is sent. */
function PerSecond() {
  const { perSecond } = draft.value;
  return (
    <Field
      label="Per second"
      hint="How many notifications are sent each second. Empty: as fast as possible."
    >
      {(given) => (
        <input
          {...given}
          type="number"
          min={1}
          max={1_000_000}
          value={typeof perSecond === 'number' ? perSecond : ''}
          onInput={({ currentTarget: { value } }) => {
            const { perSecond: _, ...others } = draft.value;
            draft.value = value === '' ? others : { ...others, perSecond: Number(value) };
          }}
        />
      )}
    </Field>
  );
}

/** Whether it also wakes those who have quiet hours. */
function Urgent() {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={draft.value['urgent'] === true}
        onChange={({ currentTarget: { checked } }) => {
          const { urgent: _, ...others } = draft.value;
          draft.value = checked ? { ...others, urgent: true } : others;
        }}
      />
      Urgent: also in quiet hours, and beyond the cap
    </label>
  );
}

/** A time in the form that the field takes, in the time zone of the reader. */
function localTime(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return '';
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - offsetMs).toISOString().slice(0, 16);
}
