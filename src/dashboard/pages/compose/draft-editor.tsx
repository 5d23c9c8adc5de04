import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Field, Tabs } from '../../parts/controls.tsx';
import { parsedObject } from '../../parts/json/json.ts';
import { draft } from './draft.ts';
import { DraftForm } from './draft-form.tsx';

interface DraftEditorProps {
  /** Whether the JSON that is typed cannot be read. The draft then stays what it was. */
  readonly isBroken: boolean;
  readonly setBroken: (isBroken: boolean) => void;
  readonly children: ComponentChildren;
}

/** The draft, written in a form or as JSON. */
export function DraftEditor({ isBroken, setBroken, children }: DraftEditorProps) {
  const [view, setView] = useState<'Form' | 'JSON'>('Form');
  const [json, setJson] = useState('');
  const choose = (name: typeof view) => {
    if (name === 'JSON') setJson(JSON.stringify(draft.value, null, 2));
    setBroken(false);
    setView(name);
  };
  const write = (text: string) => {
    const body = parsedObject(text);
    setJson(text);
    setBroken(body === undefined);
    draft.value = body ?? draft.value;
  };
  return (
    <section class="card" aria-label="Publish">
      <Tabs
        label="Write it as"
        names={['Form', 'JSON']}
        chosen={view}
        choose={choose}
        panel="draft"
      />
      <div class="inside stack" id="draft" role="tabpanel" aria-label={view}>
        {view === 'Form' ? (
          <DraftForm />
        ) : (
          <Field
            label="Body"
            hint="As backends send it. The form keeps what it has no field for."
            wrong={isBroken ? 'This is not a JSON object.' : undefined}
          >
            {(given) => (
              <textarea
                {...given}
                class="input tall"
                spellcheck={false}
                value={json}
                onInput={({ currentTarget: { value } }) => write(value)}
              />
            )}
          </Field>
        )}
        {children}
      </div>
    </section>
  );
}
