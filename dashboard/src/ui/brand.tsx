/** The mark, a label and the dot of the root, with the name: a link to `/`. */
export function Brand() {
  return (
    <a class="brand" href="/">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M7.5 8.5v8a6.25 6.25 0 0 0 12.5 0v-8" />
        <circle cx="25.25" cy="21.25" r="2.5" />
      </svg>
      uqrp
    </a>
  );
}
