import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface CardProps {
  readonly title: ComponentChildren;
  /** Behind the title. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a page with its heading. */
export function Card({ title, aside, children }: CardProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

interface FactProps {
  readonly word: string;
  readonly look?: string;
  readonly children: ComponentChildren;
}

/** A line of a list of facts: its name and its value. It is left out without a value. */
export function Fact({ word, look, children }: FactProps) {
  return children === false || children == null ? null : (
    <>
      <dt>{word}</dt>
      <dd class={look}>{children}</dd>
    </>
  );
}
