/** The key that does the same as what it stands in. Screen readers know it by `aria-keyshortcuts`. */
export function Key({ name }: { readonly name: string }) {
  return (
    <span class="key" aria-hidden="true">
      {name}
    </span>
  );
}
