/** The same as in package.json, which a bundle does not hold. */
export const VERSION = '0.1.0';
