import { Field } from '../../parts/controls.tsx';

/** A setting that is a number. */
export function NumberField({
  name,
  wrong,
  disabled = false,
  value,
  change,
}: {
  /** The name of the setting, such as `messagesPerDay`. */
  readonly name: string;
  readonly wrong?: string | undefined;
  readonly disabled?: boolean;
  readonly value: number;
  readonly change: (value: number) => void;
}) {
  return (
    <Field label={wordsOf(name)} wrong={wrong}>
      {(given) => (
        <input
          {...given}
          type="number"
          min="0"
          disabled={disabled}
          value={value}
          onInput={({ currentTarget: { valueAsNumber } }) => {
            if (!Number.isNaN(valueAsNumber)) change(valueAsNumber);
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
