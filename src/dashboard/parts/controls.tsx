import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';
import { Icon, type IconName } from './icons.tsx';
import { Key } from './key.tsx';
import { say } from './toasts.tsx';

interface ButtonProps {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** The accessible name, if there is only an icon. */
  readonly label?: string;
  readonly look?: string;
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  /** The single key that does the same. */
  readonly hotkey?: string;
  readonly onClick?: (() => void) | undefined;
}

export function Button(props: ButtonProps) {
  const { children, icon, label, look = '', type = 'button', disabled = false, hotkey } = props;
  return (
    <button
      type={type}
      class={`button ${look} ${children === undefined ? 'only-icon' : ''}`}
      aria-label={label}
      title={label}
      disabled={disabled}
      aria-pressed={props.pressed}
      aria-keyshortcuts={hotkey}
      onClick={props.onClick}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
      {hotkey !== undefined && <Key name={hotkey} />}
    </button>
  );
}

/** Buttons of which one is pressed: a state that a list is narrowed to, or all. */
export function StateChoice<State extends string>({
  states,
  state,
  choose,
}: {
  readonly states: readonly State[];
  readonly state: State | undefined;
  readonly choose: (state: State | '') => void;
}) {
  return (
    <fieldset class="kinds" aria-label="State">
      <Button look="slim" pressed={state === undefined} onClick={() => choose('')}>
        all
      </Button>
      {states.map((each) => (
        <Button key={each} look="slim" pressed={state === each} onClick={() => choose(each)}>
          {each}
        </Button>
      ))}
    </fieldset>
  );
}

/** A button that copies text, and confirms it. */
export function CopyButton({
  text,
  children,
  look = 'slim',
}: {
  readonly text: string | (() => string);
  readonly children?: ComponentChildren;
  readonly look?: string;
}) {
  return (
    <Button
      icon="copy"
      look={look}
      onClick={() => void copy(typeof text === 'string' ? text : text())}
    >
      {children ?? 'Copy'}
    </Button>
  );
}

/** Puts text on the clipboard. Pages without TLS have no clipboard API, so the old way is the second one. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand('copy');
    area.remove();
    if (!isDone) return say('The browser does not allow copying.');
  }
  say('Copied.');
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly wrong?: string | undefined;
  readonly children: (given: {
    readonly id: string;
    readonly class: string;
    readonly 'aria-describedby': string;
    readonly 'aria-invalid': boolean;
  }) => JSX.Element;
}

/** A label, the control below it, and an explanation. */
export function Field({ label, hint, wrong, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        class: 'input',
        'aria-describedby': `${id}-hint`,
        'aria-invalid': wrong !== undefined,
      })}
      <span id={`${id}-hint`} class={wrong === undefined ? 'hint' : 'wrong'}>
        {wrong ?? hint}
      </span>
    </div>
  );
}

interface TextFieldProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly write: (text: string) => void;
  readonly required?: boolean;
}

/** A line of text that nothing completes or corrects. */
export function TextField({ label, hint, wrong, value, write, required = false }: TextFieldProps) {
  return (
    <Field {...{ label, hint, wrong }}>
      {(given) => (
        <input
          {...given}
          required={required}
          value={value}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => write(currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A field that filters the list below it. */
export function Search({
  label,
  value,
  onInput,
  hotkey,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hotkey?: string;
}) {
  return (
    <label class="search">
      <Icon name="find" />
      <span class="unseen">{label}</span>
      <input
        class="input"
        type="search"
        value={value}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hotkey !== undefined && <Key name={hotkey} />}
    </label>
  );
}

/** Tabs, of which one is shown. Arrow keys walk them. */
export function Tabs<Name extends string>({
  label,
  names,
  chosen,
  choose,
  panel,
}: {
  readonly label: string;
  readonly names: readonly Name[];
  readonly chosen: Name;
  readonly choose: (name: Name) => void;
  /** The id of the element that shows the chosen one. */
  readonly panel: string;
}) {
  const walk = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = names.at((names.indexOf(chosen) + step) % names.length);
    if (next === undefined) return;
    choose(next);
    const tabs = event.currentTarget.querySelectorAll('button');
    tabs[names.indexOf(next)]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={walk}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === chosen}
          aria-controls={panel}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => choose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
