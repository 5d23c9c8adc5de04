/** The keyboard shortcut of the element that it is in. Screen readers get it from `aria-keyshortcuts`. */
export function Key({ name }: { readonly name: string }) {
  return (
    <span class="key" aria-hidden="true">
      {name}
    </span>
  );
}
