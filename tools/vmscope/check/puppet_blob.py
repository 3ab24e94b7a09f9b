# Writes the assembly that puts a program into another one: puppet_blob.py PROGRAM OUTPUT
import os
import sys

with open(sys.argv[2], "w") as out:
    out.write(f"""\t.section .rodata
\t.globl puppet_blob, puppet_blob_end
\t.hidden puppet_blob, puppet_blob_end
puppet_blob:
\t.incbin "{os.path.abspath(sys.argv[1])}"
puppet_blob_end:
\t.byte 0
\t.section .note.GNU-stack, "", %progbits
""")
