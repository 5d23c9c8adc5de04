import { useState } from 'preact/hooks';
import { Card } from '../../parts/card.tsx';
import { Field } from '../../parts/controls.tsx';

/** The origins whose pages may connect, one on each line. */
export function AllowedOrigins({
  origins,
  change,
  isReadOnly,
  faultOf,
}: {
  readonly origins: readonly string[];
  readonly change: (origins: readonly string[]) => void;
  readonly isReadOnly: boolean;
  readonly faultOf: (field: string) => string | undefined;
}) {
  const [text, setText] = useState(origins.join('\n'));
  // Undone from outside.
  const shown = sameOrigins(originsIn(text), origins) ? text : origins.join('\n');
  const wrong = [...originsIn(text).keys()].flatMap((at) => {
    const fault = faultOf(`allowedOrigins[${at}]`);
    return fault === undefined ? [] : `Line ${at + 1} ${fault}`;
  });
  return (
    <Card
      title="Allowed origins"
      aside={<span class="muted small">Empty: pages of every site may connect.</span>}
    >
      <div class="inside">
        <Field
          label="One on each line, such as https://shop.example.com or https://*.example.com"
          wrong={wrong[0] ?? faultOf('allowedOrigins')}
        >
          {(given) => (
            <textarea
              {...given}
              class="input"
              rows={Math.min(12, origins.length + 2)}
              spellcheck={false}
              disabled={isReadOnly}
              value={shown}
              onInput={({ currentTarget }) => {
                setText(currentTarget.value);
                change(originsIn(currentTarget.value));
              }}
            />
          )}
        </Field>
      </div>
    </Card>
  );
}

function originsIn(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function sameOrigins(some: readonly string[], others: readonly string[]): boolean {
  return some.join('\n') === others.join('\n');
}
