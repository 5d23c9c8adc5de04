import { Field } from '../../parts/controls.tsx';

/** A setting that is a number, or may be left empty. */
export function NumberField({
  name,
  wrong,
  disabled = false,
  value,
  change,
  empty,
}: {
  /** The name of the setting, such as `messagesPerDay`. */
  readonly name: string;
  readonly wrong?: string | undefined;
  readonly disabled?: boolean;
  readonly value: number | null;
  readonly change: (value: number) => void;
  /** What an empty field means, and what happens when it is emptied. */
  readonly empty?: { readonly means: string; readonly chosen: () => void };
}) {
  return (
    <Field label={wordsOf(name)} wrong={wrong}>
      {(given) => (
        <input
          {...given}
          type="number"
          min="0"
          disabled={disabled}
          value={value ?? ''}
          placeholder={empty?.means}
          onInput={({ currentTarget: { valueAsNumber } }) => {
            if (!Number.isNaN(valueAsNumber)) change(valueAsNumber);
            else empty?.chosen();
          }}
        />
      )}
    </Field>
  );
}

/** `messagesPerDay` → Messages per day */
function wordsOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
